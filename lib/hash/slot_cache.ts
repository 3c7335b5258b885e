/** One int32 for each KV slot: the compressed id of its token, or DEAD. */
export class SlotCache {}
