-- What is due in one partition, with since when, the oldest first and of each tenant only so many, so that one tenant's
-- crowd hides nobody else's; before it, in how many milliseconds the next will be (-1: nothing waits). Reads only.
local deliveries = unpack(KEYS)
local most, each, page, window = unpack(ARGV)

if redis.call('EXISTS', deliveries) == 0 then return {'-1'} end
local now, reply, counts, first = int(now_ms()), {}, {}, 0
repeat
  local due = redis.call('ZRANGEBYSCORE', deliveries, '-inf', now, 'WITHSCORES', 'LIMIT', first, page)
  for i = 1, #due, 2 do
    local tenant = string.match(due[i], '^[^:]*')
    counts[tenant] = (counts[tenant] or 0) + 1
    if counts[tenant] <= tonumber(each) and #reply < 2 * most then
      reply[#reply + 1], reply[#reply + 2] = due[i], due[i + 1]
    end
  end
  first = first + page
until #due < 2 * page or #reply >= 2 * most or first >= tonumber(window)
local later = redis.call('ZRANGEBYSCORE', deliveries, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
table.insert(reply, 1, later[2] and int(later[2] - now) or '-1')
return reply
