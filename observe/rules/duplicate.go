package rules

import (
	"net/http"
	"strings"
	"time"

	"bareclaw/observe/capture"
)

var duplicate = Rule{
	ID:       "duplicate",
	Category: Performance,
	Severity: Warning,
	Title:    "Same data loaded again",
	Advice:   "Load the data once, in a parent component or through a cache that all components share.",
	Needs:    capture.Response,
	Check:    checkDuplicate,
	clears:   loadsData,
}

// loadsData reports whether the request is one that pages make for data.
func loadsData(s *Subject) bool { return isDataFetch(s.Request) }

// isDataFetch leaves out programs, which may well ask again and again.
func isDataFetch(r *capture.Request) bool {
	if r.Method != http.MethodGet || !worked(r) || !isOneReply(r) {
		return false
	}
	isOfPage := r.Sent.Header.Get("Referer") != "" || r.Sent.Header.Get("Sec-Fetch-Dest") == "empty"
	isData := strings.HasPrefix(r.URL, "/api/") || isJSON(r.Received.Media)
	return isOfPage && isData
}

// checkDuplicate cannot see what comes after the request. What may still turn out to be React's strict
// mode, which loads everything twice, or the second of a page's regular requests, is no match.
func checkDuplicate(s *Subject) []Match {
	if !isDataFetch(s.Request) {
		return nil
	}
	fetches := s.sincePage()
	var same []*capture.Request
	for _, r := range fetches {
		if r.URL == s.Request.URL {
			same = append(same, r)
		}
	}
	if len(same) < StrictModeLoads || isPolling(same) {
		return nil
	}
	if len(same) == StrictModeLoads && mayBeStrictMode(fetches, same) {
		return nil
	}
	return []Match{{Description: Describe("One page loads the same data %s.", times(len(same)))}}
}

// sincePage returns the requests for data since the page was loaded, or changed what may be loaded.
func (s *Subject) sincePage() []*capture.Request {
	begin := 0
	for i, r := range s.Flow {
		isPage := r.Method == http.MethodGet && r.Received.Media == "text/html"
		isChange := r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
		isOtherPage := r.Sent.Header.Get("Referer") != s.Request.Sent.Header.Get("Referer")
		if isPage || isChange || isOtherPage {
			begin = i + 1
		}
	}
	var fetches []*capture.Request
	for _, r := range s.Flow[begin:] {
		if isDataFetch(r) && r != s.Request {
			fetches = append(fetches, r)
		}
	}
	return append(fetches, s.Request)
}

// isPolling reports whether the requests are apart as those of a timer are.
func isPolling(same []*capture.Request) bool {
	for i := range same[1:] {
		if gap(same[i], same[i+1]) < PollingMinGap {
			return false
		}
	}
	return len(same) >= MinPollingSequence
}

// mayBeStrictMode reports whether a pair of requests may be of React's strict mode. It is none if another
// request for data was made long ago and only once; nor is the pair of a timer then.
func mayBeStrictMode(fetches, pair []*capture.Request) bool {
	count := make(map[string]int)
	for _, r := range fetches {
		count[r.URL]++
	}
	second := pair[len(pair)-1]
	for _, r := range fetches {
		if count[r.URL] == 1 && gap(r, second) > StrictModeMaxGap {
			return false
		}
	}
	return true
}

func gap(earlier, later *capture.Request) time.Duration { return later.Started.Sub(earlier.Started) }
