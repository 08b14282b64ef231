# The default policy. It decides by the attributes of the caller, the model and the input.
#
# A turn is allowed when every requirement below holds, and else refused with one code for each that does not.
# A requirement does not hold when what it looks at is missing, unknown or of the wrong type; so a hole in the data
# or in the input refuses, and never allows.
#
# What counts up while a turn runs, bytes and tokens, is no input of these rules: they state ceilings, which the gateway
# holds the turn to. So one verdict stays true for a caller's whole turn and for the next one, and the gateway remembers
# it. A policy that reads the counts is asked each time they change.
#
# Tenants, roles and their ceilings are data (data.json). Change the data first, and the rules only where that is not
# enough. A ceiling of 0, and an empty list of modalities, mean never: the gateway refuses such a turn for good
# ("TURNS_PER_MINUTE_IS_ZERO"), and does not tell its caller to try again.
#
# A tenant may name more than the shipped data does:
#   "turns_per_second", "turns_per_day", "tokens_per_second", "tokens_per_day"   rates, like those of a minute
#   "max_concurrent_turns"   turns that run at once
#   "per_subject"            true: each subject has the rates and the turns at once for itself
#   "cut_answers"            true: an answer ends with what is left of the minute and the day, so neither is exceeded
#   "weight"                 its share when tenants wait for each other; 1 where it is absent
#   "trust_steps"            ceilings of callers whose trust is below a step; of all that hold, the least counts:
#                            [{"below": 0.5, "tokens_per_minute": 10000}, {"below": 0.4, "tokens_per_minute": 1000}]
package headworks.turn

import rego.v1

# The gateway asks for this rule. Its value is {"allow": boolean, "reasons": [code], "obligations": {...}}, and
# nothing else counts as an answer.
decision := {"allow": true, "reasons": [], "obligations": obligations} if count(refusals) == 0

decision := {"allow": false, "reasons": refusals, "obligations": {}} if count(refusals) > 0

# Each requirement has a code, which the caller is told when the requirement does not hold.
refusal_codes := {
	"tenant": "TENANT_UNKNOWN",
	"stage": "STAGE_UNKNOWN",
	"authentication": "AUTHENTICATION_NOT_ACCEPTED",
	"attributes": "ATTRIBUTE_NOT_ACCEPTED",
	"role": "ROLE_UNKNOWN",
	"model": "MODEL_NOT_ALLOWED",
	"modality": "MODALITY_NOT_ALLOWED",
	"trust": "TRUST_TOO_LOW",
	"ceilings": "CEILING_UNKNOWN",
}

# A caller whose tenant is unknown is told nothing else.
refusals := {refusal_codes.tenant} if not "tenant" in held

refusals := {code | some requirement, code in refusal_codes; not requirement in held} if "tenant" in held

tenant := data.headworks.tenants[input.caller.tenant]

held contains "tenant" if is_object(tenant)

held contains "stage" if input.stage in {"open", "input"}

held contains "authentication" if input.caller.authenticated_by in tenant.authenticated_by

# The caller has each attribute that the tenant requires, with one of the values that the tenant accepts for it.
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

held contains "trust" if within(tenant.min_trust[input.stage], input.trust.score)

# Each ceiling of the tenant is a number. To the gateway a null would mean no ceiling, so it must not get that far.
held contains "ceilings" if {
	is_number(tenant.max_input_tokens)
	is_number(tenant.max_output_tokens)
	is_number(tenant.turns_per_minute)
	is_number(tenant.tokens_per_minute)
	every _, value in object.filter(tenant, may_be_absent) {
		is_number(value)
	}
	is_boolean(per_subject)
	is_boolean(cut_answers)
	is_array(trust_steps)
	every step in trust_steps {
		is_number(step.below)
		every name, value in step {
			name in step_names # a misspelt one would hold nobody
			is_number(value)
		}
	}
}

may_be_absent := {
	"turns_per_second", "turns_per_day", "tokens_per_second", "tokens_per_day",
	"max_concurrent_turns", "weight",
}

step_names := {
	"below", "max_input_tokens", "max_output_tokens", "max_concurrent_turns",
	"turns_per_second", "turns_per_minute", "turns_per_day",
	"tokens_per_second", "tokens_per_minute", "tokens_per_day",
}

per_subject := object.get(tenant, "per_subject", false)

cut_answers := object.get(tenant, "cut_answers", false)

trust_steps := object.get(tenant, "trust_steps", [])

# What the caller's roles grant. Roles that are not in the data grant nothing.
grants := [grant | some role in input.caller.roles; grant := data.headworks.roles[role]]

# The longest answer that any of the roles grants. A role without a number there grants none.
granted_output_tokens := max({0} | {ceiling |
	some grant in grants
	ceiling := grant.max_output_tokens
	is_number(ceiling)
})

# A modality without a ceiling of bytes may not be sent at all.
allowed_modalities := {modality |
	some grant in grants
	some modality in grant.modalities
	modality in tenant.modalities
	is_number(tenant.max_bytes[modality])
}

obligations := object.union_n([
	object.filter(tenant, may_be_absent),
	{
		"max_input_tokens": tenant.max_input_tokens,
		"max_output_tokens": output_tokens,
		"turns_per_minute": tenant.turns_per_minute,
		"tokens_per_minute": tenant.tokens_per_minute,
		"modalities": allowed_modalities,
		"max_bytes": {modality: tenant.max_bytes[modality] | some modality in allowed_modalities},
		"per_subject": per_subject,
		"cut_answers": cut_answers,
	},
	tightened,
])

output_tokens := min([tenant.max_output_tokens, granted_output_tokens])

# Each ceiling of the steps that the caller's trust is below, or what holds the caller anyway where that is less.
tightened := {name: min(values) |
	some step in steps_below
	some name, _ in step
	name != "below"
	values := {holder[name] | some holder in array.concat([tenant, {"max_output_tokens": output_tokens}], steps_below)}
}

steps_below := [step | some step in trust_steps; input.trust.score < step.below]

# Rego orders values of different types too, so that 1 <= "1" is true. Both must therefore be numbers.
within(value, ceiling) if {
	is_number(value)
	is_number(ceiling)
	value <= ceiling
}

# A list of models names one by its name, and every one by "*".
names(list, name) if name in list

names(list, _) if "*" in list
