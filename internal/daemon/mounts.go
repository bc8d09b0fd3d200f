package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/mcp/mounts"
)

// mountedServers tell clients of the API, and people in chats, about the mounted servers.
type mountedServers struct{ room *mounts.Mounts }

// Mounts implements [httpapi.MountedServers].
func (s mountedServers) Mounts() api.Mounts {
	read := s.room.FileTime() // before what it says
	all, problem := s.room.Status()
	shown := showMounts(all, problem, mounts.MemoryOf(all))
	shown.FileTime = read
	shown.LeftOut = s.room.LeftOut()
	return shown
}

// showMounts returns servers for clients of the API. The memory is by the marks of instances, in bytes.
func showMounts(all []mounts.Status, problem string, memory map[string]uint64) api.Mounts {
	shown := api.Mounts{
		Mounts:  make([]api.Mount, 0, len(all)),
		Problem: problem,
	}
	for i := range all {
		shown.Mounts = append(shown.Mounts, showMount(&all[i], memory))
	}
	return shown
}

// MountedServers implements [commands.Mounts].
func (s mountedServers) MountedServers() (all []commands.MountedServer, problem string) {
	now, problem := s.room.Status()
	for i := range now {
		m := &now[i]
		all = append(all, commands.MountedServer{
			Name:    m.Name,
			State:   string(m.State),
			Problem: m.Problem,
			Tools:   m.Tools,
			Asks:    m.Asks,
			Changed: len(m.Changed),
			LeftOut: len(m.LeftOut),
		})
	}
	return all, problem
}

// TestMount implements [httpapi.MountedServers].
func (s mountedServers) TestMount(ctx context.Context, name string) (api.Mount, error) {
	tested, listed, err := s.room.Test(ctx, name)
	switch {
	case errors.Is(err, mounts.ErrNoServer):
		return api.Mount{}, fmt.Errorf("test a mounted server: %w", core.ErrNotFound)
	case err != nil:
		return api.Mount{}, err
	}
	all, _ := s.room.Status()
	for i := range all {
		if all[i].Name == name { // with what is left out
			tested = all[i]
		}
	}
	shown := showMount(&tested, mounts.MemoryOf([]mounts.Status{tested}))
	shown.ToolList = make([]api.MountTool, 0, len(listed))
	for _, t := range listed {
		shown.ToolList = append(shown.ToolList, api.MountTool(t))
	}
	return shown, nil
}

// showMount returns a server for clients of the API. The memory is by the marks of instances, in bytes.
func showMount(s *mounts.Status, memory map[string]uint64) api.Mount {
	shown := api.Mount{
		Name:      s.Name,
		State:     string(s.State),
		Problem:   s.Problem,
		Target:    s.Target,
		Scope:     string(s.Scope),
		Category:  string(s.Category),
		Since:     s.Since,
		Tools:     s.Tools,
		Asks:      s.Asks,
		Changed:   slices.Clone(s.Changed),
		LeftOut:   slices.Clone(s.LeftOut),
		Calls:     s.Calls,
		Failures:  s.Failures,
		Starts:    s.Starts,
		Instances: make([]api.MountInstance, 0, len(s.Instances)),
	}
	for i := range s.Instances {
		instance := showInstance(&s.Instances[i])
		instance.MemoryBytes = memory[s.Instances[i].Mark]
		shown.MemoryBytes += instance.MemoryBytes
		shown.Instances = append(shown.Instances, instance)
	}
	return shown
}

func showInstance(i *mounts.InstanceStatus) api.MountInstance {
	return api.MountInstance{
		Channel: string(i.Channel),
		PID:     i.PID,
		Since:   i.Since,
		Calls:   i.Calls,
	}
}

// mountProblems says what is wrong with the mounted servers, in sentences.
func mountProblems(room *mounts.Mounts) []string {
	all, problem := room.Status()
	shown := showMounts(all, problem, nil)
	return shown.Problems()
}
