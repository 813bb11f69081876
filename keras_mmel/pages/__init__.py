"""What every page and report shares: marked words, HTML, pictures."""
