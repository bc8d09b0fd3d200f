package tools

import (
	"context"
	"strings"

	"bareclaw/core/commands"
)

// PromptFixFindings is the name of the prompt that has findings fixed.
const PromptFixFindings = "fix-findings"

// Prompts returns the commands that have the agent look at the app and fix it.
func Prompts() []commands.Command {
	appArg := commands.Arg{
		Name: "app",
		Help: "which app, if several are observed: its id or directory",
	}
	return []commands.Command{
		{
			Name:   "check-app",
			Help:   "look for problems of the running web app",
			Access: commands.Reads,
			Prompt: &commands.Prompt{
				Args: []commands.Arg{appArg},
				Text: func(_ context.Context, _ commands.Call, values map[string]string) (string, error) {
					return checkApp(values["app"]), nil
				},
			},
		},
		{
			Name:   PromptFixFindings,
			Help:   "fix what is wrong with the running web app, and prove it",
			Access: commands.Reads,
			Prompt: &commands.Prompt{
				Args: []commands.Arg{{
					Name: "findings",
					Help: "the ids of findings, with commas between; all that are open without",
				}, appArg},
				Text: func(_ context.Context, _ commands.Call, values map[string]string) (string, error) {
					return FixFindings(values["app"], ids(values["findings"])...), nil
				},
			},
		},
	}
}

// ids returns the ids in a text with commas or spaces between them.
func ids(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// ofApp names the app in a step, if one is given.
func ofApp(app string) string {
	if app == "" {
		return ""
	}
	return " Give each of these tools the app " + data(app, maxName) + "."
}

// checkApp returns the text of check-app.
func checkApp(app string) string {
	return "Find out what is wrong with my running web app, by its real requests." + ofApp(app) + "\n" +
		steps(
			"Call get_findings.",
			"Call get_endpoints, and look for endpoints that are slow, fail, or send many queries.",
			"For each critical finding and each warning, call get_request_detail with its request or endpoint, and find the cause in the source.",
			"Tell me what is wrong, the worst first, with the cause and the fix that you suggest for each. Change nothing yet: offer to fix them.",
		)
}

// FixFindings returns the text of fix-findings, for some findings or, without ids, for all that are open. An app
// that is empty is the channel's.
func FixFindings(app string, findings ...string) string {
	which := "each open finding"
	if len(findings) > 0 {
		all := make([]string, len(findings))
		for i, f := range findings {
			all[i] = id(f)
		}
		which = "the findings " + strings.Join(all, ", ")
	}
	return "Fix " + which + " of my running web app, one after the other, the worst first." + ofApp(app) + "\n" +
		steps(
			"Call get_findings.",
			"Call report_fix with the status fixing.",
			"Call get_request_detail with the request or the endpoint of the finding, to see exactly what happens.",
			"Find the cause in the source, and fix it there, without hiding the symptom. Restart the app if it does not notice the change.",
			"Call report_fix with the status fixed and what you did. If it cannot or must not be fixed: wont_fix, and why.",
			"Call verify_fix, with replay where the endpoint is read by GET; else ask me to repeat the request. If the finding is still there, begin again with its request.",
			"When all are done, tell me in a few lines what was fixed, what is proven, and what is left.",
		)
}

// steps numbers steps.
func steps(all ...string) string {
	var b strings.Builder
	for i, s := range all {
		b.WriteString("\n" + string(rune('1'+i)) + ". " + s)
	}
	return b.String()
}
