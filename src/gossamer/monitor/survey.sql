-- hosts: The hosts that have addresses waiting, in numbers; what waits on retired ones does not count.
SELECT count(*), count(*) FILTER (WHERE NOT leased AND next_at <= :now), count(*) FILTER (WHERE failing > 0),
    count(*) FILTER (WHERE troubles > 0), coalesce(sum(queued), 0), coalesce(avg(gap), 0)
FROM hosts WHERE queued > 0 AND retired_at IS NULL;

-- fullest: The one with the most of them.
SELECT name, queued FROM hosts WHERE queued > 0 AND retired_at IS NULL ORDER BY queued DESC LIMIT 1;
