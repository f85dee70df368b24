"""What the trainings of several methods share: checkpoints, batches of rows of one length, averaging, publishing."""
