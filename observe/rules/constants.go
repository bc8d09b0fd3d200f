package rules

import "time"

// What rules go by. Names are those of brakit, in brackets, where it has one.
const (
	// InsightWindowPerEndpoint is how many requests to an endpoint rules look at (INSIGHT_WINDOW_PER_ENDPOINT).
	InsightWindowPerEndpoint = 20
	// FlowGap is how long after one request the next of the same flow may begin (FLOW_GAP_MS).
	FlowGap = 5 * time.Second
	// MinRequestsForInsight is how many requests make an average (MIN_REQUESTS_FOR_INSIGHT).
	MinRequestsForInsight = 2
)

// Of secrets and personal data.
const (
	MinSecretValueLength = 8  // bytes (MIN_SECRET_VALUE_LENGTH)
	MinProseSecretLength = 16 // bytes; "name: value" in an error message may be words
	MaxObjectScanDepth   = 5  // MAX_OBJECT_SCAN_DEPTH
	SecretScanArrayLimit = 5  // items (SECRET_SCAN_ARRAY_LIMIT)
	PIIScanArrayLimit    = 10 // items (PII_SCAN_ARRAY_LIMIT)
	FullRecordMinFields  = 8  // FULL_RECORD_MIN_FIELDS
	ListPIIMinItems      = 2  // LIST_PII_MIN_ITEMS
	MinReflectedOrigins  = 2  // so many foreign origins are no list of allowed ones
	TraceHeadBytes       = 512
)

// Of queries.
const (
	N1QueryThreshold            = 5   // more are too many (N1_QUERY_THRESHOLD)
	RedundantQueryMinCount      = 2   // REDUNDANT_QUERY_MIN_COUNT
	HighQueryCountPerReq        = 5   // more are too many (HIGH_QUERY_COUNT_PER_REQ)
	HighRowCount                = 100 // more are too many (HIGH_ROW_COUNT)
	CrossEndpointMinEndpoints   = 3   // CROSS_ENDPOINT_MIN_ENDPOINTS
	CrossEndpointPct            = 50  // CROSS_ENDPOINT_PCT
	CrossEndpointMinOccurrences = 5   // CROSS_ENDPOINT_MIN_OCCURRENCES
	QueryCountRegressionRatio   = 1.5 // QUERY_COUNT_REGRESSION_RATIO
)

// Of time.
const (
	BaselineMinSessions           = 2                      // earlier runs of the app (BASELINE_MIN_SESSIONS)
	BaselineMinRequestsPerSession = 3                      // BASELINE_MIN_REQUESTS_PER_SESSION
	BaselineOKRatio               = 2.0                    // BASELINE_OK_RATIO
	SlowMinIncrease               = 200 * time.Millisecond // less is not noticed
	RegressionPctThreshold        = 50                     // REGRESSION_PCT_THRESHOLD
	RegressionMinIncrease         = 200 * time.Millisecond // REGRESSION_MIN_INCREASE_MS
	RegressionMinRequests         = 5                      // REGRESSION_MIN_REQUESTS
	StrictModeMaxGap              = 2 * time.Second        // STRICT_MODE_MAX_GAP_MS
	MinPollingSequence            = 3                      // MIN_POLLING_SEQUENCE
	PollingMinGap                 = 500 * time.Millisecond // components that load the same do so at once
	StrictModeLoads               = 2                      // how often React's strict mode loads everything
	p95Pct                        = 95
)

// Of responses.
const (
	ErrorRateThresholdPct   = 20     // ERROR_RATE_THRESHOLD_PCT
	LargeResponseBytes      = 51_200 // LARGE_RESPONSE_BYTES
	OverfetchMinRequests    = 2      // OVERFETCH_MIN_REQUESTS
	OverfetchMinFields      = 8      // OVERFETCH_MIN_FIELDS
	OverfetchMinInternalIDs = 2      // OVERFETCH_MIN_INTERNAL_IDS
	OverfetchNullRatio      = 0.3    // OVERFETCH_NULL_RATIO
	OverfetchManyFields     = 12     // OVERFETCH_MANY_FIELDS
	OverfetchUnwrapMinSize  = 3      // OVERFETCH_UNWRAP_MIN_SIZE
	OverfetchMaxWrapperKeys = 3      // an object with more is no wrapper
)

// Of texts.
const (
	maxName    = 80  // characters of a name that the app has given
	maxMessage = 120 // characters of a message (DETAIL_PREVIEW_LENGTH)
	whole      = 100 // percent
	halves     = 2
	kilo       = 1000
)
