/** A metric: its type, help text and initial series. */
export interface Family {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** Labels of series that exist from the start: otherwise rates and alerts would miss the first event. */
  from: Record<string, string>[];
}

const gauge = (help: string): Family => ({ type: 'gauge', help, from: [] });
const histogram = (help: string): Family => ({ type: 'histogram', help, from: [] });
/** `labels` lists the known values of the counter's label. With an empty list, series appear when they are first counted. */
const counter = (help: string, labels?: Record<string, string[]>): Family => ({
  type: 'counter',
  help,
  from: labels
    ? Object.entries(labels).flatMap(([label, values]) => values.map((value) => ({ [label]: value })))
    : [{}],
});

export const families = {
  szafa_build_info: gauge('1; the labels show the versions of szafa and Node'),
  szafa_requests_total: counter('Requests answered, by route and status', { route: [] }),
  szafa_answers_total: counter('Requests answered, by the class of their status', {
    class: ['2xx', '4xx', '5xx'],
  }),
  szafa_request_seconds: histogram('Seconds from a request to the end of its answer, by route'),
  szafa_requests_in_flight: gauge('Requests that are being answered'),
  szafa_connections: gauge('Open connections of clients'),
  szafa_connections_refused_total: counter(
    'Connections closed at once because the limit of open files allows no more',
  ),
  szafa_event_loop_lag_seconds: histogram(
    'How late timers were in the processes of this node, measured four times a second',
  ),
  szafa_volume_bytes_total: counter('Bytes of volumes received and sent', { direction: ['in', 'out'] }),
  szafa_volumes_rejected_total: counter('Volumes that the receiver rejected, by reason', {
    reason: ['state', 'number', 'size', 'digest'],
  }),
  szafa_login_failures_total: counter('Wrong passwords, and attempts refused because there were too many', {
    reason: ['wrong', 'limit'],
  }),
  szafa_share_downloads_total: counter('Downloads that visitors of shares started'),
  szafa_share_refusals_total: counter(
    'Refused requests of share visitors: unknown share, ended share, or too many requests from one address',
    { reason: ['unknown', 'over', 'limit'] },
  ),
  szafa_request_uploads_total: counter('Uploads that visitors of file requests started'),
  szafa_request_refusals_total: counter(
    'Refused requests of file request visitors: unknown, ended or full request, or too many requests from one address',
    { reason: ['unknown', 'over', 'limit'] },
  ),
  szafa_store_errors_total: counter('Requests that failed because a store failed, by store', {
    store: ['database', 'volumes'],
  }),
  szafa_s3_request_seconds: histogram(
    'Seconds from the last byte of a request to S3 to the first of its answer',
  ),
  szafa_s3_failures_total: counter(
    'Requests to S3 that got no answer, or one of 500 and above; each attempt counts',
    { method: [] },
  ),
  szafa_database_connections: gauge('Connections to PostgreSQL, by state'),
  szafa_database_waiting: gauge('Requests waiting for a connection to PostgreSQL'),
  szafa_disk_bytes: gauge("Size of the data folder's filesystem"),
  szafa_disk_free_bytes: gauge("Free bytes of the data folder's filesystem"),
  szafa_disk_reserve_bytes: gauge('Bytes that must stay free there (SZ_MIN_FREE)'),
  szafa_accounts: gauge('Accounts, as the sweeper last counted them'),
  szafa_files: gauge('Files, as the sweeper last counted them'),
  szafa_stored_bytes: gauge('Bytes of all files, as the sweeper last counted them'),
  szafa_trash_bytes: gauge('Bytes of the files in the trash, as the sweeper last counted them'),
  szafa_transfers: gauge('Unfinished transfers, by state; up to 100000'),
  szafa_pulls_running: gauge('Running pulls, on all nodes'),
  szafa_shares: gauge('Active shares; up to 100000'),
  szafa_requests: gauge('Active file requests; up to 100000'),
  szafa_garbage_groups: gauge('Volume groups waiting to be deleted; up to 100000'),
  szafa_orphans: gauge('Volume groups without a record; up to 100000'),
  szafa_orphans_removed_total: counter('Orphans without a manifest that were deleted'),
  szafa_store_contested: gauge('1 while the volume store is contested and nothing is deleted from it'),
  szafa_sweep_success_timestamp_seconds: gauge('When this node last swept; 0 while another node does'),
  szafa_fsck_success_timestamp_seconds: gauge('When fsck last found nothing wrong'),
  szafa_scrub_interval_seconds: gauge('From one scrub to the next (SZ_SCRUB_DAYS); 0: off'),
  szafa_scrub_begun_timestamp_seconds: gauge('When the latest scrub started'),
  szafa_scrub_ended_timestamp_seconds: gauge('When the latest complete scrub ended'),
  szafa_scrub_progress_ratio: gauge('Progress of the scrub; 1 when it has ended'),
  szafa_scrub_faults: gauge('Volumes of files that the scrub found missing or wrong'),
  szafa_scrub_read_bytes_total: counter('Bytes that the scrub of this node has read'),
  szafa_process_cpu_seconds_total: counter('CPU time of the processes of this node'),
  szafa_process_resident_bytes: gauge('Memory of the processes of this node'),
};
