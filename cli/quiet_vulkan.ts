/**
 * Mesa prints errors on stderr where `XDG_RUNTIME_DIR` is not set, as in containers and services.
 * Gives it a folder for this process; does nothing where the environment may not be touched.
 */
export function quietVulkan(): void {
  if (Deno.build.os !== "linux") return;
  const variable = "XDG_RUNTIME_DIR";
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return;
  if (!Deno.env.get(variable)) Deno.env.set(variable, "/tmp");
}
