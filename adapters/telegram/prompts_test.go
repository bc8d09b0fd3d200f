package telegram

import (
	"context"
	"slices"
	"testing"

	"bareclaw/core/commands"
	"bareclaw/internal/testkit/check"
)

// promptOf returns a command whose text for the agent has the argument.
func promptOf(name string) commands.Command {
	return commands.Command{
		Name:   name,
		Help:   "a prompt",
		Access: commands.Reads,
		Prompt: &commands.Prompt{
			Args: []commands.Arg{{Name: "app", Required: true}},
			Text: func(_ context.Context, _ commands.Call, values map[string]string) (string, error) {
				return "Check " + values["app"] + ".", nil
			},
		},
	}
}

// TestCommandsChange: a command that comes while the bot runs is in the menu, unless Telegram takes no
// such name, and its text goes to the agent.
func TestCommandsChange(t *testing.T) {
	t.Parallel()
	a, api, anna, chat := serve(t)
	api.Await(t, "menu", func() bool { return slices.Contains(api.Commands(), "help") })
	list := a.o.Commands.NewList()
	check.OK(t, list.Replace(promptOf("fix_app"), promptOf("check-app")))
	want := []string{"verbose", "rules", "why", "fix_app", "restart", "help"}
	api.Await(t, "menu with the command", func() bool {
		have := api.Commands()
		return len(have) > len(want) && slices.Equal(have[len(have)-len(want):], want)
	})

	chat.Send(anna, "/check-app")
	chat.AwaitText("/check-app needs the argument app. Write /check-app APP.")
	sent := chat.Send(anna, "/check-app the shop")
	awaitPrompt := func(text string) {
		t.Helper()
		api.Await(t, text, func() bool {
			all, err := lookup(a).Messages(t.Context(), "tg-7", 1, "")
			check.OK(t, err)
			return len(all) == 1 && all[0].Prompt.Text == text
		})
	}
	awaitPrompt("Check the shop.")
	chat.AwaitText("it does not work") // says the agent
	chat.Edit(anna, sent.MessageID, "/check-app")
	chat.AwaitText("Your edit was not accepted. /check-app needs the argument app. Write /check-app APP.")
	awaitPrompt("Check the shop.")
	chat.Edit(anna, sent.MessageID, "/check-app the mill")
	late := chat.AwaitText("Your edit came too late")
	chat.Tap(anna, late.ID, "Run the edited message")
	awaitPrompt("Check the mill.")

	check.OK(t, list.Replace())
	api.Await(t, "menu without the command", func() bool { return !slices.Contains(api.Commands(), "fix_app") })
}
