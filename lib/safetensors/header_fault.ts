/**
 * What is wrong with a header: `found …, wanted …`. Thrown by its parser and checks, which do not
 * know the file; {@linkcode parseHeader} turns it into an `EngramError` that does.
 */
export class HeaderFault extends Error {}
