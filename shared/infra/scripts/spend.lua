-- Count what calls did cost in a tenant's day, and set the cost of the next one aside (I11), if there is a next one
-- (``name``) and it fits under the day's caps with all that is spent and set aside; 0 if it does not.
local kept, most_tokens, most_nanos, name, tokens, nanos = unpack(ARGV, 1, 6)
local wanted = name ~= '' and {name, tokens, nanos, most_tokens, most_nanos}
return settle_and_reserve(KEYS[1], kept, wanted, 7, #ARGV, again)
