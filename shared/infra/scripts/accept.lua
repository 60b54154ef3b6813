-- Accept one turn: all of it or nothing. ``most``: sessions that may wait in the whole installation before a new message
-- is refused; 0 where that is not asked here, -1 where none may. ``crowd``: the messages that may wait in one session; 0
-- for any number. The other partitions' sets are named like this one's.
-- ``alias``: the task's name, which lies in another slot; on a cluster it was reserved before, and is not among the keys.
-- Where the task has left, its name may be about to leave too: it is given anew, for good.
-- The reply holds the record of a known task; of a new one, which the caller has, nothing. ``is_asked`` ('1'): only whether
-- the turn would be accepted; nothing is stored.
local dedupe, session, lease, open, inbox, turns, begun, waiting, leased, record, events, stopped, alias = unpack(KEYS)
local turn_id, turn, task_id, json, state, owner, member, kept, dedupe_seconds = unpack(ARGV, 1, 9)
local event, listed, most, partitions, place, is_asked, crowd = unpack(ARGV, 10, 16)

local named = alias and redis.call('GET', alias)
if named and named ~= place then return {'named', named} end
local seen = redis.call('GET', dedupe)
if again and seen == task_id .. '\n' .. turn_id then return {'ok', redis.call('HGET', record, 'json') or '', ''} end
if seen then return {'seen', seen} end
-- Resent after that note is gone, while the first still waits: it must not take its place.
local waits = redis.call('HGET', turns, turn_id)
if waits then return {'waits', waits} end
local reason = stop_reason(stopped)
if reason ~= '' then return {'stopped', reason} end
local belongs = redis.call('HGET', session, 'owner')
if belongs and belongs ~= owner then return {'other'} end
local known = redis.call('HMGET', record, 'json', 'ended')
if known[2] == '1' then return {'ended'} end
if crowd ~= '0' and redis.call('LLEN', inbox) >= tonumber(crowd) then return {'crowded', crowd} end

-- Sessions whose wake was put off are not counted: they wait for a slot of their own tenant. A wake is put off by more
-- than five seconds, so one that is due within five counts, as clocks differ.
if most == '-1' then return {'full', ''} end
local counted = ''
if most ~= '0' then
  local soon, number = int(now_ms() + 5000), 0
  local stem, rest = string.match(waiting, '^(.-{p)%d+(}.*)$')
  for partition = 0, partitions - 1 do
    number = number + redis.call('ZCOUNT', stem .. string.format('%02d', partition) .. rest, '-inf', soon)
  end
  if number >= tonumber(most) then return {'full', int(number)} end
  counted = int(number)
end
if is_asked == '1' then return {'ok', known[1] or '', counted} end

if alias and not (named and known[1]) then redis.call('SET', alias, place) end
if not known[1] then
  redis.call('HSET', record, 'json', json, 'version', 1, 'state', state, 'ended', '0', 'listed', listed)
  move_in_lists(listed, false, state, '0')
  redis.call('SADD', open, task_id)
end
if not belongs then redis.call('HSET', session, 'owner', owner) end
redis.call('PERSIST', session)
redis.call('PERSIST', lease)
redis.call('SET', dedupe, task_id .. '\n' .. turn_id, 'EX', dedupe_seconds)
redis.call('HSET', turns, turn_id, turn)
redis.call('HSET', begun, turn_id .. ':at', int(now_us()), turn_id .. ':of', string.sub(record, 1, -#'record' - 1))
redis.call('RPUSH', inbox, turn_id)
add_to_waiting(waiting, leased, member)
append_events(events, kept, '1', event)
return {'ok', known[1] or '', counted}
