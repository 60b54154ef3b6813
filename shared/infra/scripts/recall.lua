-- What is learned of a tenant, and of one process of it. Cases, facts and entities come only if they may be others than
-- at the ``mark`` that the reader has: whoever changes them counts an event, or the memory's version, in the same step.
-- The new mark is '' where it is unknown whether this server continues the same line of writes. Reads only.
local arms, cases, knowledge, entities, accuracy, synthesized, counts, memory = unpack(KEYS)
local mark, cases_most, facts_most, arm_count = unpack(ARGV, 1, 4)

local now, first = line_of_writes(), 5 + arm_count
if now ~= '' then
  local version, events = redis.call('HGET', memory, 'version'), redis.call('HGET', counts, 'events')
  now = now .. ' ' .. (version or '') .. ' ' .. (events or '')
end
local reply = {
  now, redis.call('HMGET', arms, unpack(ARGV, 5, first - 1)), redis.call('HMGET', accuracy, unpack(ARGV, first)),
  redis.call('HKEYS', synthesized),
}
if now == '' or now ~= mark then
  reply[5] = {
    redis.call('LRANGE', cases, 0, cases_most - 1), redis.call('LRANGE', knowledge, 0, facts_most - 1),
    redis.call('HVALS', entities),
  }
end
return reply
