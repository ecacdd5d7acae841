"""Rojviboonchai, Aida, *An Evaluation of Multi-path Transmission Control Protocol (M/TCP)*."""
