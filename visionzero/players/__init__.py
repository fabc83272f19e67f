"""Who answers the turns: scripted players, models, people."""
