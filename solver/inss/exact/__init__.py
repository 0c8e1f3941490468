"""The most capacity of given GPUs, with proof: the value of each set of models on a GPU, and the best partition."""
