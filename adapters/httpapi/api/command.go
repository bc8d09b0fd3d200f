package api

// A CommandRequest is the body of POST /channels/{key}/commands.
type CommandRequest struct {
	Text string `json:"text"`          // the command with its slash, and its argument
	User string `json:"user,omitzero"` // who calls; may be empty
}

// A CommandReply answers a command of the gateway.
type CommandReply struct {
	Text    string   `json:"text"` // Markdown
	Choices []Choice `json:"choices"`
	Prompt  string   `json:"prompt,omitzero"` // for the agent, in the place of the command; Text is empty then
}

// A Choice is a command that may be called next.
type Choice struct {
	Label   string `json:"label"`
	Command string `json:"command"`
}
