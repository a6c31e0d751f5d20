-- hosts: The hosts that have addresses waiting, in numbers; what waits on retired ones does not count.
SELECT count(*), coalesce(sum(leased = 0 AND next_at <= :now), 0), coalesce(sum(failing > 0), 0),
    coalesce(sum(troubles > 0), 0), coalesce(sum(queued), 0), coalesce(avg(gap), 0)
FROM hosts WHERE queued > 0 AND retired_at IS NULL;

-- fullest: The one with the most of them.
SELECT name, queued FROM hosts WHERE queued > 0 AND retired_at IS NULL ORDER BY queued DESC LIMIT 1;
