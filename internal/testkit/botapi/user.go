package botapi

// A User is a person, or the bot.
type User struct {
	ID        int64
	FirstName string
	LastName  string // "" is none
	Username  string // without the @; "" is none
	bot       bool
}

// User makes a person known, or returns the one with that id with its names changed.
func (s *Server) User(id int64, first, last, username string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[id]
	if u == nil {
		u = &User{ID: id}
		s.users[id] = u
	}
	u.FirstName, u.LastName, u.Username = first, last, username
	return u
}

// names adds the user's names to an object.
func (u *User) names(o object) {
	o["first_name"] = u.FirstName
	if u.LastName != "" {
		o["last_name"] = u.LastName
	}
	if u.Username != "" {
		o["username"] = u.Username
	}
}

// wireLocked is the user as it is in messages.
func (u *User) wireLocked() object {
	o := object{"id": u.ID, "is_bot": u.bot}
	u.names(o)
	if !u.bot {
		o["language_code"] = "en"
	}
	return o
}

// getMe: core.telegram.org/bots/api#getme
func (r *request) getMe() (any, error) {
	me := r.s.bot.wireLocked()
	for _, name := range []string{"can_read_all_group_messages", "supports_inline_queries", "can_connect_to_business", "has_main_web_app"} {
		me[name] = false
	}
	me["can_join_groups"], me["has_topics_enabled"] = true, true
	return me, nil
}
