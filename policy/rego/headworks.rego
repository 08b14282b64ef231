# The default policy: attribute-based, one object out. Nothing is allowed unless every requirement below holds;
# what is missing, unknown or of the wrong type holds nothing, so a hole in the data or the input refuses.
# Its ceilings, tenants and roles are data (data.json); replace the data first, the rules only if that is not enough.
package headworks.turn

import rego.v1

# What the gateway asks for: {"allow": boolean, "reasons": [code], "obligations": {...}}.
decision := {"allow": true, "reasons": [], "obligations": obligations} if count(refusals) == 0

decision := {"allow": false, "reasons": refusals, "obligations": {}} if count(refusals) > 0

# The requirements, each with the code of its refusal.
refusal_codes := {
	"tenant": "TENANT_UNKNOWN",
	"stage": "STAGE_UNKNOWN",
	"authentication": "AUTHENTICATION_NOT_ACCEPTED",
	"attributes": "ATTRIBUTE_NOT_ACCEPTED",
	"role": "ROLE_UNKNOWN",
	"model": "MODEL_NOT_ALLOWED",
	"modality": "MODALITY_NOT_ALLOWED",
	"size": "INPUT_TOO_LARGE",
	"tokens": "TOO_MANY_TOKENS",
	"trust": "TRUST_TOO_LOW",
}

# A stranger learns nothing but that.
refusals := {refusal_codes.tenant} if not "tenant" in held

refusals := {code | some requirement, code in refusal_codes; not requirement in held} if "tenant" in held

tenant := data.headworks.tenants[input.caller.tenant]

held contains "tenant" if is_object(tenant)

held contains "stage" if input.stage in {"open", "input"}

held contains "authentication" if input.caller.authenticated_by in tenant.authenticated_by

# Each attribute that the tenant requires has one of the values it accepts.
held contains "attributes" if {
	is_object(tenant.required_attributes)
	every name, accepted in tenant.required_attributes {
		input.caller.attributes[name] in accepted
	}
}

held contains "role" if count(grants) > 0

held contains "model" if {
	is_string(input.model)
	names(tenant.models, input.model)
	some grant in grants
	names(grant.models, input.model)
}

held contains "modality" if {
	is_array(input.input.modalities)
	every modality in input.input.modalities {
		modality in allowed_modalities
	}
}

# A modality without a ceiling may not be sent at all.
held contains "size" if {
	is_object(input.input.bytes)
	every modality, size in input.input.bytes {
		within(size, tenant.max_bytes[modality])
	}
}

held contains "tokens" if within(input.input.tokens, tenant.max_input_tokens)

held contains "trust" if within(tenant.min_trust[input.stage], input.trust.score)

# What the caller's known roles grant, taken together.
grants := [grant | some role in input.caller.roles; grant := data.headworks.roles[role]]

allowed_modalities := {modality |
	some grant in grants
	some modality in grant.modalities
	modality in tenant.modalities
}

obligations := {
	"max_input_tokens": tenant.max_input_tokens,
	"max_output_tokens": min([tenant.max_output_tokens, max([grant.max_output_tokens | some grant in grants])]),
	"turns_per_minute": tenant.turns_per_minute,
	"tokens_per_minute": tenant.tokens_per_minute,
	"modalities": allowed_modalities,
}

# Rego orders values of different types too (1 <= "1" is true), so both must be numbers.
within(value, ceiling) if {
	is_number(value)
	is_number(ceiling)
	value <= ceiling
}

names(list, name) if name in list

names(list, _) if "*" in list
