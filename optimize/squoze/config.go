package squoze

// passName is the engine's name in markers and headers.
const passName = "squoze"
