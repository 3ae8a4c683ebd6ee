# Statements that the gate must refuse, beyond those that every engine gets.
