package rules

// SecurityID is the id under which reports and the API sum up the findings of all rules whose category is
// Security. It is no rule: it sees no requests, and as a finding it would tell each of them twice.
const SecurityID = "security"
