package core

// Shown is one thing that the agent shows to a person while it works.
type Shown struct{}
