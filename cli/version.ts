import config from "../deno.json" with { type: "json" };

/** The tool's version. */
export const VERSION: string = config.version;
