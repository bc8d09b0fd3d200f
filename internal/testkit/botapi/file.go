package botapi

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// maxDownloadBytes: core.telegram.org/bots/api#getfile
	maxDownloadBytes = 20 << 20
	// linkLife is how long a download link is good for at least, and here no
	// longer: core.telegram.org/bots/api#getfile
	linkLife = time.Hour
)

// file is what was uploaded by somebody, under its file_id.
type file struct {
	id, unique string
	path       string
	size       int64
	data       []byte
	linked     time.Time // when getFile last gave the path away
}

// storeLocked keeps data. A size of 0 is that of the data.
func (s *Server) storeLocked(kind, ext string, data []byte, size int64) *file {
	if size == 0 {
		size = int64(len(data))
	}
	n := len(s.files)
	f := &file{
		id: fmt.Sprintf("FAKE-%s-%06d", kind, n), unique: fmt.Sprintf("U%06d", n),
		path: fmt.Sprintf("%ss/file_%d%s", kind, n, ext), size: size, data: data,
	}
	s.files[f.id] = f
	return f
}

// wire is the file as it is in messages.
func (f *file) wire() object {
	return object{"file_id": f.id, "file_unique_id": f.unique, "file_size": f.size}
}

// getFile: core.telegram.org/bots/api#getfile
func (r *request) getFile() (any, error) {
	if r.text("file_id") == "" {
		return nil, bad("file_id not specified")
	}
	f := r.s.files[r.text("file_id")]
	switch {
	case f == nil:
		return nil, bad("invalid file_id")
	case f.size > maxDownloadBytes:
		return nil, bad("file is too big")
	}
	f.linked = r.s.opts.now()
	o := f.wire()
	o["file_path"] = f.path
	return o, nil
}

// download answers GET /file/bot<token>/<path>. Faults find it as the method
// "file".
func (x *exchange) download(path string) {
	x.s.mu.Lock()
	x.params.values["file_path"] = path
	x.call = x.s.beginLocked("file", x.params)
	refused := x.s.admitLocked(x.token)
	var f *fault
	if refused == nil {
		f = x.s.takeFaultLocked(x.call)
	}
	data, found := x.s.linkedLocked(path)
	x.s.mu.Unlock()
	if refused == nil && !found {
		refused = &apiError{code: http.StatusNotFound, description: "Not Found"}
	}
	if refused != nil {
		x.answer(nil, refused)
		return
	}
	if f != nil && f.before(x) {
		return
	}
	if f != nil && f.afterRaw(x, data) {
		return
	}
	x.s.mu.Lock()
	x.call.Carried = true
	x.s.mu.Unlock()
	x.end("ok", http.StatusOK)
	x.w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = x.w.Write(data) // a client that is gone does not need it
}

// linkedLocked finds a file by a link that is still good.
func (s *Server) linkedLocked(path string) ([]byte, bool) {
	for _, f := range s.files {
		if f.path == path && !f.linked.IsZero() && s.opts.now().Sub(f.linked) <= linkLife {
			return f.data, true
		}
	}
	return nil, false
}
