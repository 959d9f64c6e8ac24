"""`endotransfer push`: a trained model as a folder that a model hub takes, and its upload."""
