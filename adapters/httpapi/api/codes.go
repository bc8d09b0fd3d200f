package api

// Codes of refused requests: the member code of an Error.
const (
	AmbiguousID          = "ambiguous_id"
	BadAnswers           = "bad_answers"
	BadAlways            = "bad_always"
	BadBehavior          = "bad_behavior"
	BadBudget            = "bad_budget"
	BadCanAsk            = "bad_can_ask"
	BadChannel           = "bad_channel"
	BadContent           = "bad_content"
	BadContext           = "bad_context"
	BadIdempotencyKey    = "bad_idempotency_key"
	BadLimit             = "bad_limit"
	BadMedia             = "bad_media"
	BadMissed            = "bad_missed"
	BadMode              = "bad_mode"
	BadPath              = "bad_path"
	BadPrecheck          = "bad_precheck"
	BadRemember          = "bad_remember"
	BadSetting           = "bad_setting"
	BadText              = "bad_text"
	BadTZ                = "bad_tz"
	BadUpdatedInput      = "bad_updated_input"
	BadDue               = "bad_due"
	BadWait              = "bad_wait"
	BadWhen              = "bad_when"
	BodyTooLarge         = "body_too_large"
	ChannelBusy          = "channel_busy"
	ChannelRefused       = "channel_refused"
	DeliveryFailed       = "delivery_failed"
	DeliveryUnconfirmed  = "delivery_unconfirmed"
	ForeignHost          = "foreign_host"
	ForeignOrigin        = "foreign_origin"
	ForeignUser          = "foreign_user"
	IdempotencyMismatch  = "idempotency_mismatch"
	IncompleteBody       = "incomplete_body"
	Internal             = "internal"
	InvalidBody          = "invalid_body"
	InvalidJSON          = "invalid_json"
	MethodNotAllowed     = "method_not_allowed"
	MissingChannel       = "missing_channel"
	MissingText          = "missing_text"
	MountFailed          = "mount_failed"
	NoAdapter            = "no_adapter"
	NotFailed            = "not_failed"
	NotFound             = "not_found"
	NothingRuns          = "nothing_runs"
	NotOnSocket          = "not_on_socket"
	NotPending           = "not_pending"
	NotWaiting           = "not_waiting"
	OutcomeNotWritten    = "outcome_not_written"
	ProxyWithoutToken    = "proxy_without_token"
	QueueFull            = "queue_full"
	RestartFailed        = "restart_failed"
	ScheduleOver         = "schedule_over"
	ShuttingDown         = "shutting_down"
	StorageFull          = "storage_full"
	StorageUnavailable   = "storage_unavailable"
	TooManyBodies        = "too_many_bodies"
	TooManySchedules     = "too_many_schedules"
	Unauthorized         = "unauthorized"
	UnknownCommand       = "unknown_command"
	UnsupportedMediaType = "unsupported_media_type"
	UpgradeFailed        = "upgrade_failed"
	UpgradeRunning       = "upgrade_running"
)

// An Error is the body of a refusal.
type Error struct {
	Error string `json:"error"` // for a person: what is wrong and what to do
	Code  string `json:"code"`  // for a program

	Message  *Message  `json:"message,omitzero"`             // of NotWaiting and NotFailed
	Approval *Approval `json:"approval,omitzero"`            // of NotPending
	Prefixes []string  `json:"registered_prefixes,omitzero"` // of NoAdapter
}
