package schedule

// MaxAttempts bounds the failed attempts to push an answer.
const MaxAttempts = maxAttempts
