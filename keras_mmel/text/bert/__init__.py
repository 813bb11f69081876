"""BERT: its classes, its checkpoints in every layout, its tokenizer."""
