"""Random numbers: made of seeds (`seeds`), or such that none controls."""
