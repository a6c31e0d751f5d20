-- hosts: Counts of the hosts with URLs waiting; those of retired hosts do not count.
SELECT count(*), count(*) FILTER (WHERE NOT leased AND next_at <= :now), count(*) FILTER (WHERE failing > 0),
    count(*) FILTER (WHERE troubles > 0), coalesce(sum(queued), 0), coalesce(avg(gap), 0)
FROM hosts WHERE queued > 0 AND retired_at IS NULL;

-- fullest: The host with the most URLs waiting.
SELECT name, queued FROM hosts WHERE queued > 0 AND retired_at IS NULL ORDER BY queued DESC LIMIT 1;
