"""How far a judge can be trusted: agreement beyond chance, what it leans on, and the passport of both."""
