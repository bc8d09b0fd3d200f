-- The gateway's tools that sessions of a channel may use; '': those of the gateway.
ALTER TABLE settings ADD COLUMN tools TEXT NOT NULL DEFAULT '';
