"""What the documentation site shows beyond docs/: pages made from the command line, from notebooks and other files."""
