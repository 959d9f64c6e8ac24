"""The sentence that goes with everything this project writes or shows."""

DISCLAIMER = "Research use only, not a medical device."
