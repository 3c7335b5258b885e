import { deepEqual, equal, throws } from "node:assert/strict";
import { hubName, hubTarget, parseHubLocation } from "../../lib/bytes/hub_location.ts";

Deno.test("hf:// locations are read, and spelled the same way again", () => {
  const read = (location: string) => {
    const parsed = parseHubLocation(location);
    deepEqual(parseHubLocation(hubName(parsed)), parsed);
    return [parsed.repository, parsed.revision, parsed.path];
  };
  deepEqual(read("hf://org/name"), ["org/name", "main", ""]);
  deepEqual(read("HF://Org-1/na.me_2/"), ["Org-1/na.me_2", "main", ""]);
  deepEqual(read("hf://models/org/name"), ["org/name", "main", ""]);
  deepEqual(read("hf://org/name@v1.0"), ["org/name", "v1.0", ""]);
  deepEqual(read("hf://org/name@a%2Fb/c/d.json"), ["org/name", "a/b", "c/d.json"]);
  deepEqual(read("hf://org/name@refs/pr/7/x"), ["org/name", "refs/pr/7", "x"]);
  deepEqual(read("hf://org/name@refs/convert/fp8"), ["org/name", "refs/convert/fp8", ""]);
});

Deno.test("what names no repository is refused", () => {
  const wrong = [
    "hf://",
    "hf://org",
    "hf://org/",
    "hf:///name",
    "hf://../x",
    "hf://a/..",
    "hf://a/b@",
  ];
  wrong.push(
    "hf://a/b@%ZZ",
    "hf://a/b/../c",
    "hf://a/b?x",
    "hf://-a/b",
    "hf://a--b/c",
    "hf://a b/c",
  );
  for (const location of wrong) {
    throws(() => parseHubLocation(location), { kind: "usage", where: location }, location);
  }
});

Deno.test("the address escapes what the name holds, and the token is no part of the name", () => {
  const settings = {
    endpoint: "https://hub.example/base",
    cacheFolder: "",
    offline: false,
    token: "hf_x",
  };
  const { url, name, authorization } = hubTarget(
    parseHubLocation("hf://org/name@a%2Fb/c d#.json"),
    settings,
  );
  equal(url.href, "https://hub.example/base/org/name/resolve/a%2Fb/c%20d%23.json");
  equal(name, "hf://org/name@a%2Fb/c d#.json");
  equal(authorization, "Bearer hf_x");
});
