"""The way from what runs today to the next plan."""
