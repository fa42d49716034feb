/** All metrics. */
export interface Family {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** Labels of series that are shown before they are first counted: without them rates and alerts miss the first event. */
  from?: Record<string, string>[];
}

const each = (label: string, ...values: string[]) => values.map((value) => ({ [label]: value }));

export const families = {
  szafa_build_info: { type: 'gauge', help: '1; its labels say which szafa this is, on which Node' },
  szafa_requests_total: { type: 'counter', help: 'Requests answered, by route and status' },
  szafa_answers_total: {
    type: 'counter',
    help: 'Requests answered, by the class of their status',
    from: each('class', '2xx', '4xx', '5xx'),
  },
  szafa_request_seconds: {
    type: 'histogram',
    help: 'Seconds from a request to the end of its answer, by route',
  },
  szafa_requests_in_flight: { type: 'gauge', help: 'Requests that are being answered' },
  szafa_connections: { type: 'gauge', help: 'Open connections of clients' },
  szafa_connections_refused_total: {
    type: 'counter',
    help: 'Connections that were closed at once, because as many were open as the limit of open files allows',
    from: [{}],
  },
  szafa_event_loop_lag_seconds: {
    type: 'histogram',
    help: 'How late a timer was in the processes of this node, asked four times a second',
  },
  szafa_volume_bytes_total: {
    type: 'counter',
    help: 'Bytes of volumes received and sent',
    from: each('direction', 'in', 'out'),
  },
  szafa_volumes_rejected_total: {
    type: 'counter',
    help: 'Volumes that the receiver rejected, by reason',
    from: each('reason', 'state', 'number', 'size', 'digest'),
  },
  szafa_login_failures_total: {
    type: 'counter',
    help: 'Passwords that were wrong, and those that were not tried because too many had been',
    from: each('reason', 'wrong', 'limit'),
  },
  szafa_share_downloads_total: {
    type: 'counter',
    help: 'Downloads that visitors began, by a ticket for something shared',
    from: [{}],
  },
  szafa_share_refusals_total: {
    type: 'counter',
    help: 'Requests of visitors that were refused: there is no such share, it is over, too many from one address',
    from: each('reason', 'unknown', 'over', 'limit'),
  },
  szafa_request_uploads_total: {
    type: 'counter',
    help: 'Uploads that visitors began, by a link that asks for files',
    from: [{}],
  },
  szafa_request_refusals_total: {
    type: 'counter',
    help: 'Requests of such visitors that were refused: there is no such link, it is over or full, too many from one address',
    from: each('reason', 'unknown', 'over', 'limit'),
  },
  szafa_store_errors_total: {
    type: 'counter',
    help: 'Requests that failed because a store failed, by store',
    from: each('store', 'database', 'volumes'),
  },
  szafa_s3_request_seconds: {
    type: 'histogram',
    help: 'Seconds from the last byte of a request to S3 to the first of its answer',
  },
  szafa_s3_failures_total: {
    type: 'counter',
    help: 'Requests to S3 without an answer, or with one of 500 and above; each try counts',
  },
  szafa_database_connections: { type: 'gauge', help: 'Connections to PostgreSQL, by state' },
  szafa_database_waiting: { type: 'gauge', help: 'Requests waiting for a connection to PostgreSQL' },
  szafa_disk_bytes: { type: 'gauge', help: "Size of the data folder's filesystem" },
  szafa_disk_free_bytes: { type: 'gauge', help: "Free bytes of the data folder's filesystem" },
  szafa_disk_reserve_bytes: { type: 'gauge', help: 'Bytes that must stay free there (SZ_MIN_FREE)' },
  szafa_accounts: { type: 'gauge', help: 'Accounts, as the sweeper last counted them' },
  szafa_files: { type: 'gauge', help: 'Files, as the sweeper last counted them' },
  szafa_stored_bytes: { type: 'gauge', help: 'Bytes of all files, as the sweeper last added them up' },
  szafa_trash_bytes: {
    type: 'gauge',
    help: 'Bytes of those in the trash, as the sweeper last added them up',
  },
  szafa_transfers: { type: 'gauge', help: 'Transfers that are not done, by state; up to 100000' },
  szafa_pulls_running: { type: 'gauge', help: 'Running pulls, on all nodes' },
  szafa_shares: { type: 'gauge', help: 'Shares that are not over; up to 100000' },
  szafa_requests: { type: 'gauge', help: 'Links that ask for files and are not over; up to 100000' },
  szafa_garbage_groups: { type: 'gauge', help: 'Volume groups waiting to be deleted; up to 100000' },
  szafa_orphans: { type: 'gauge', help: 'Volume groups that no record names; up to 100000' },
  szafa_orphans_removed_total: {
    type: 'counter',
    help: 'Orphans without a manifest that were deleted',
    from: [{}],
  },
  szafa_store_contested: {
    type: 'gauge',
    help: '1 while the volume store is contested and nothing is deleted from it',
  },
  szafa_sweep_success_timestamp_seconds: {
    type: 'gauge',
    help: 'When this node last swept; 0 while another one does',
  },
  szafa_fsck_success_timestamp_seconds: { type: 'gauge', help: 'When fsck last found nothing wrong' },
  szafa_scrub_interval_seconds: { type: 'gauge', help: 'From one scrub to the next (SZ_SCRUB_DAYS); 0: off' },
  szafa_scrub_begun_timestamp_seconds: { type: 'gauge', help: 'When the latest scrub began' },
  szafa_scrub_ended_timestamp_seconds: { type: 'gauge', help: 'When the latest whole scrub ended' },
  szafa_scrub_progress_ratio: { type: 'gauge', help: 'How far the scrub is; 1 when it is over' },
  szafa_scrub_faults: { type: 'gauge', help: 'Volumes of files that the scrub found missing or wrong' },
  szafa_scrub_read_bytes_total: {
    type: 'counter',
    help: 'Bytes that the scrub of this node has read',
    from: [{}],
  },
  szafa_process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the processes of this node' },
  szafa_process_resident_bytes: { type: 'gauge', help: 'Memory of the processes of this node' },
} satisfies Record<string, Family>;
