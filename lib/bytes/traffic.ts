/** What this program has fetched over the network so far, all sources together. */
export interface Traffic {
  /** Requests answered, redirects included. */
  requests: number;
  /** Bytes of content received (without the protocol's own). */
  bytes: number;
}

/** The counter of the whole program. */
export const TRAFFIC: Traffic = { requests: 0, bytes: 0 };
