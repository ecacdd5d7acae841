"""HighSpeed TCP, Scalable TCP, and AIMD beside them."""
