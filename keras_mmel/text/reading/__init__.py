"""From files of augmented text to groups, and to a teacher's labels."""
