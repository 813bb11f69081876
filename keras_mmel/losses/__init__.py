"""What was compiled, as one loss per view and one number per group."""
