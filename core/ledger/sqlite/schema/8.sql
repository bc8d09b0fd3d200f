-- What began the agent's own turn, for a person; '': unknown.
ALTER TABLE backgrounds ADD COLUMN woken_by TEXT NOT NULL DEFAULT '';
