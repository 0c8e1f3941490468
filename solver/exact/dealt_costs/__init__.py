"""GPUs under MPS dealt to their residents, whatever part of a rate they carry: a bound for services that are split."""
