"""What a finished run says: findings, differences, plans, evaluation."""
