package capture

import (
	"strings"
	"testing"
)

func TestSecretNames(t *testing.T) {
	t.Parallel()
	secret := `password password1 password_2 passwordConfirm password_confirmation user[password_confirmation] user.password
		passwordconfirm newpassword PASSWORD PassWord pass_word pwd db_pwd passwd userPasswd secret_key_base SECRET_KEY clientSecret
		client-secret secrets pass db_pass DB_PASS passConfirm passcode pin userPin pin_code otp totp otpCode token token2 accesstoken
		access_token accessTokens X-Auth-Token HTTPToken csrf_token csrfmiddlewaretoken _csrf password_hash passwordHash
		password_digest encrypted_password apikey api_key APIKey APIkey apiKeys X-Api-Key x-rapidapi-key Ocp-Apim-Subscription-Key
		X-Auth-Key X-Amz-Security-Token X-Csrf-Token privateKey private_key aws_secret_access_key secretAccessKey session_id sessionId
		jsessionid PHPSESSID connect.sid Authorization Proxy-Authorization authorization_code passphrase pass-phrase jwt id_jwt
		Cf-Access-Jwt-Assertion cookie set-cookie secret_id psk cvv X-Session tokens[0] token_value`
	for name := range strings.FieldsSeq(secret) {
		if !isSecretName(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	if !isSecretName(strings.Repeat("a", 500) + "[password]") {
		t.Error("a long name is no secret")
	}
	harmless := `id name title user username email created_at description address message status key keys primary_key public_key
		token_type tokenType password_length max_token_count token_expires_at token_expires_in passwordless passwordlength
		csrf_token_name password_reset_url tokenizer secretary passenger passport compass bypass passed pass_rate passRate
		spin shipping pinned pin_color hotp access_key_id accessKeyId token_usage prompt_tokens_details authorization_endpoint
		author authority session sessions keyboard monkey cookie_consent cookiePolicy totp_enabled a é 12 ___`
	for name := range strings.FieldsSeq(harmless) {
		if isSecretName(name) {
			t.Errorf("%s is a secret", name)
		}
	}
	if isSecretName("") {
		t.Error("no name is a secret")
	}
	for name := range strings.FieldsSeq("max_tokens promptTokens total_tokens usage.completion_tokens tokens max_tokens_to_sample tokens_per_minute") {
		if s := secrecyOf(name); s.hides("4096") || !s.hides("abc") {
			t.Errorf("the secrecy of %s is %d", name, s)
		}
	}
}
