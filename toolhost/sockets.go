package toolhost

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"bareclaw/toolhost/api"
)

// hostSockets are the two sockets between daemon and tool host.
type hostSockets struct {
	path      string // of the tool host's socket
	listener  net.Listener
	file      *os.File // the listener, for tool hosts
	functions *http.Server
	boot      api.Bootstrap
}

// listen opens the sockets.
func listen(o *Options) (*hostSockets, error) {
	s := &hostSockets{path: filepath.Join(o.RuntimeDir, "toolhost.sock")}
	s.boot = api.Bootstrap{ToolsDir: o.ToolsDir, Functions: filepath.Join(o.RuntimeDir, "functions.sock")}
	for _, t := range o.Registry.List() {
		s.boot.Reserved = append(s.boot.Reserved, t.Name)
	}
	listener, err := listenUnix(s.path)
	if err != nil {
		return nil, err
	}
	s.listener = listener
	if s.file, err = listener.File(); err != nil {
		s.close()
		return nil, err
	}
	functions, err := listenUnix(s.boot.Functions)
	if err != nil {
		s.close()
		return nil, err
	}
	s.functions = &http.Server{Handler: newFunctions(o.Grants).handler(), ReadHeaderTimeout: startTimeout, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn)}
	go func() { _ = s.functions.Serve(functions) }() // ends by close
	return s, nil
}

// listenUnix listens on a private Unix socket, also if a killed process has left the path.
func listenUnix(path string) (*net.UnixListener, error) {
	_ = os.Remove(path) // Listen reports anything else
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	return l, err
}

func (s *hostSockets) close() {
	_ = s.listener.Close()
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.functions != nil {
		_ = s.functions.Close()
	}
}
