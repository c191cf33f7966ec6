// Runs one target: under libFuzzer if it is built with -D FUZZING and -sanitize=fuzzer, as script/fuzz does, otherwise
// once on each given file.
//
//   fuzz TARGET [OPTION OF LIBFUZZER...] [CORPUS...]
//   fuzz TARGET FILE...
//
// With FUZZ_TRAP in the environment an input that begins with TRAP counts as a fault: a coverage-guided fuzzer finds
// it.
import FuzzTargets

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

guard Input.target != nil else {
    for target in FuzzTarget.all { print(target.name) }
    exit(CommandLine.arguments.count == 1 ? 0 : 2)
}

#if FUZZING
    // Declared here because the toolchain has no header for it. It calls `run` until the fuzzing ends; without this
    // call, an executable on Linux links, runs its own main and never fuzzes.
    // https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library
    @_silgen_name("LLVMFuzzerRunDriver")
    func runDriver(
        _ count: UnsafeMutablePointer<CInt>,
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
    ) -> CInt

    // The target's name is not an option of libFuzzer: the program's name replaces it.
    var count = CommandLine.argc - 1
    var arguments = CommandLine.unsafeArgv + 1
    arguments[0] = CommandLine.unsafeArgv[0]
    exit(
        runDriver(&count, &arguments) { bytes, count in
            Input.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        })
#else
    for path in CommandLine.arguments.dropFirst(2) {
        guard let input = Input.read(path) else {
            print("\(path): cannot be read")
            exit(2)
        }
        Input.run(input)
        print("\(path): every property holds")
    }
#endif
