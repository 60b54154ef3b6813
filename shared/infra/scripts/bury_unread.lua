-- Take a turn that nobody can read out of its session, with a letter to an operator; its task, if it has not ended, ends
-- failed, is told and is counted. Repeated, it finds the turn gone.
local lease, signals, turns, inbox, begun, open, record, events, dead_turns, outcomes, unarchived, asked = unpack(KEYS)
local owner, fence, turn_id, task_id, letter, event_id, outcome, member, seconds, json, kept, count, event_entry = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
if redis.call('HEXISTS', turns, turn_id) == 0 then return {'ok'} end
redis.call('XADD', dead_turns, '*', 'letter', letter)
local ended, listed, before = unpack(redis.call('HMGET', record, 'ended', 'listed', 'state'))
if task_id ~= '' and ended ~= '1' then
  move_in_lists(listed, before, 'failed', '1')
  redis.call('HSET', record, 'json', json, 'state', 'failed', 'ended', '1', 'outcome', event_id, 'buried', turn_id)
  redis.call('HINCRBY', record, 'version', 1)
  redis.call('XADD', outcomes, '*', 'id', event_id, 'o', outcome)
  redis.call('ZADD', unarchived, int(now_ms()), member)
  local latest = redis.call('HGET', (string.gsub(record, ':record$', ':approvals')), 'latest')
  if latest then remove_question(asked, latest, member, seconds) end
  redis.call('ZREM', doubting_key(asked), member)
  append_events(events, kept, count, event_entry)
end
redis.call('SREM', open, task_id)
end_turn(inbox, signals, turns, begun, turn_id)
return {'ok'}
